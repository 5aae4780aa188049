# What a browser compares an inline script and style with. Run as a script, with FOLDER.
foreach(name IN ITEMS page.js page.css)
    file(SHA256 "${FOLDER}/${name}" hash)
    file(WRITE "${FOLDER}/${name}.sha256" "${hash}")
endforeach()
