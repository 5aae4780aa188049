-- What the bench records of Lua: queens, strings, a sort with a comparison, metatables,
-- coroutines, errors. The same calls in each run; prints a checksum.
local scale = tonumber(arg and arg[1]) or 1

local function queens(n)
  local count, columns, up, down = 0, {}, {}, {}
  local function place(row)
    if row > n then count = count + 1 return end
    for c = 1, n do
      if not (columns[c] or up[row + c] or down[row - c + n]) then
        columns[c], up[row + c], down[row - c + n] = true, true, true
        place(row + 1)
        columns[c], up[row + c], down[row - c + n] = nil, nil, nil
      end
    end
  end
  place(1)
  return count
end

local function random(seed)
  return function(limit)
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed % limit
  end
end

local function strings(n)
  local draw, parts, sum = random(7), {}, 0
  for i = 1, n do
    parts[#parts + 1] = string.format("%d:%s", i, string.rep(string.char(97 + draw(26)), draw(8)))
  end
  local text = table.concat(parts, ",")
  for number, word in text:gmatch("(%d+):(%a+)") do sum = sum + tonumber(number) * #word end
  return sum + #text:gsub("a+", "x")
end

local function sorted(n)
  local draw, list = random(11), {}
  for i = 1, n do list[i] = draw(1000000) end
  table.sort(list, function(a, b) return a > b end)
  return list[1] - list[n]
end

local Vector = {}
Vector.__index = Vector
Vector.__add = function(a, b) return setmetatable({x = a.x + b.x, y = a.y + b.y}, Vector) end
Vector.__eq = function(a, b) return a.x == b.x and a.y == b.y end
function Vector.length(v) return v.x * v.x + v.y * v.y end

local function vectors(n)
  local sum = setmetatable({x = 0, y = 0}, Vector)
  for i = 1, n do sum = sum + setmetatable({x = i % 7, y = i % 11}, Vector) end
  return sum:length()
end

local function generators(n)
  local sum = 0
  for i = 1, n do
    local co = coroutine.wrap(function() for k = 1, 5 do coroutine.yield(k * i) end end)
    for k = 1, 5 do sum = sum + co() end
  end
  return sum
end

local function errors(n)
  local caught = 0
  for i = 1, n do
    if not pcall(function() if i % 3 == 0 then error("third") end end) then caught = caught + 1 end
  end
  return caught
end

print(queens(7), strings(6000 * scale), sorted(12000 * scale), vectors(30000 * scale),
      generators(3000 * scale), errors(9000 * scale))
