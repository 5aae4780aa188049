"""XXH3-64 with seed 0 in plain Python, after the published description of xxHash (F-NUM-05)."""
import struct

MASK = (1 << 64) - 1
P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
PRIME_MX1, PRIME_MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")

STRIPE = 64                                # bytes that one round takes
BLOCK_STRIPES = (len(SECRET) - 64) // 8    # rounds between two scrambles


def _u32(data, offset):
    return struct.unpack_from("<I", data, offset)[0]


def _u64(data, offset):
    return struct.unpack_from("<Q", data, offset)[0]


def _fold(left, right):
    product = left * right
    return (product & MASK) ^ (product >> 64)


def _avalanche(value):
    value ^= value >> 37
    value = value * PRIME_MX1 & MASK
    return value ^ (value >> 32)


def _avalanche64(value):
    value ^= value >> 33
    value = value * P64_2 & MASK
    value ^= value >> 29
    value = value * P64_3 & MASK
    return value ^ (value >> 32)


def _upto16(data):
    size = len(data)
    if size > 8:
        low = _u64(data, 0) ^ _u64(SECRET, 24) ^ _u64(SECRET, 32)
        high = _u64(data, size - 8) ^ _u64(SECRET, 40) ^ _u64(SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche((size + swapped + high + _fold(low, high)) & MASK)
    if size >= 4:
        value = _u32(data, size - 4) + (_u32(data, 0) << 32)
        value ^= _u64(SECRET, 8) ^ _u64(SECRET, 16)
        value ^= ((value << 49 | value >> 15) ^ (value << 24 | value >> 40)) & MASK
        value = value * PRIME_MX2 & MASK
        value ^= (value >> 35) + size
        value = value * PRIME_MX2 & MASK
        return value ^ (value >> 28)
    if size:
        value = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        return _avalanche64(value ^ _u32(SECRET, 0) ^ _u32(SECRET, 4))
    return _avalanche64(_u64(SECRET, 56) ^ _u64(SECRET, 64))


def _mix16(data, offset, secret):
    return _fold(_u64(data, offset) ^ _u64(SECRET, secret),
                 _u64(data, offset + 8) ^ _u64(SECRET, secret + 8))


def _upto240(data):
    size = len(data)
    total = size * P64_1
    if size <= 128:
        for i in range((size - 1) // 32, -1, -1):
            total += _mix16(data, 16 * i, 32 * i)
            total += _mix16(data, size - 16 * (i + 1), 32 * i + 16)
        return _avalanche(total & MASK)
    for i in range(8):
        total += _mix16(data, 16 * i, 16 * i)
    total = _avalanche(total & MASK)
    for i in range(8, size // 16):
        total += _mix16(data, 16 * i, 16 * (i - 8) + 3)
    total += _mix16(data, size - 16, 136 - 17)
    return _avalanche(total & MASK)


def _accumulate(acc, words, keys):
    for i in range(8):
        word = words[i]
        key = word ^ keys[i]
        acc[i ^ 1] += word
        acc[i] += (key & 0xFFFFFFFF) * (key >> 32)
    for i in range(8):
        acc[i] &= MASK


def _long(data):
    acc = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    unpack = struct.Struct("<8Q").unpack_from
    keys = [unpack(SECRET, 8 * i) for i in range(BLOCK_STRIPES)]
    scramble = unpack(SECRET, len(SECRET) - 64)
    stripes = (len(data) - 1) // STRIPE
    for stripe in range(stripes):
        place = stripe % BLOCK_STRIPES
        _accumulate(acc, unpack(data, stripe * STRIPE), keys[place])
        if place == BLOCK_STRIPES - 1:
            acc = [((a ^ (a >> 47)) ^ scramble[i]) * P32_1 & MASK for i, a in enumerate(acc)]
    _accumulate(acc, unpack(data, len(data) - STRIPE), unpack(SECRET, len(SECRET) - 64 - 7))
    total = len(data) * P64_1
    for i in range(4):
        total += _fold(acc[2 * i] ^ _u64(SECRET, 11 + 16 * i),
                       acc[2 * i + 1] ^ _u64(SECRET, 19 + 16 * i))
    return _avalanche(total & MASK)


def xxh3_64(data):
    """The hash of all bytes of data."""
    if len(data) <= 16:
        return _upto16(data)
    return _upto240(data) if len(data) <= 240 else _long(data)
