/**
 * All of the limiter, in Redis itself: nothing comes between the look at a limit and the taking, and whatever a call
 * wants is decided in one go.
 *
 * A rate is a hash: what was taken in each second that still counts, the `total` of all, and the moments of the `oldest`
 * and the `newest`. A second is a string: how much it counts, then its slices in their order, each with its last moment and
 * how much it counts. As in `sliding-minute.ts`, a slice is whatever was taken within one millisecond, and leaves when the
 * last of it is a minute old. So a take reads and writes two seconds, the one that begins the minute and the one that ends
 * it, of at most a thousand slices each.
 *
 * A number of places is a sorted set: `node holder`, by the end of the lease. KEYS[1] are the nodes, by when they
 * last spoke; a node that fell silent loses its places as soon as somebody needs them, long before its leases end. A node
 * has another name on each of its connections, `id:number`: whatever still stands under an earlier one, because Redis came
 * back from a snapshot or heard a take too late, is a silent node's like any other.
 *
 * Keys that are not there yet stand for nothing taken, so a Redis that was emptied begins anew. Everything expires.
 *
 * ARGV: what is asked, the time (only for tests; otherwise it is this server's), the name of who asks; then four words
 * for each further key, which are explained where they are read.
 */
export const limiterScript = `
local asked, node = ARGV[1], ARGV[3]
local minuteUs, secondUs, millisecondUs, rateKeptMs = 60000000, 1000000, 1000, 62000
local nodeSilentMs, nodesKeptMs = 20000, 60000

local function serverUs()
  local time = redis.call('TIME')
  return time[1] * secondUs + time[2]
end

local function serverMs()
  return math.floor(serverUs() / millisecondUs)
end

-- Rates are dated to the microsecond: dated by whole milliseconds, some sixty seconds would be one of them too short.
local nowUs = ARGV[2] == '' and serverUs() or math.floor(ARGV[2] * millisecondUs + 0.5)
local nowMs = math.floor(nowUs / millisecondUs)

-- A clock that was set back stands still until it has caught up, so that what is taken is found again when it returns.
local function notBefore(us)
  nowUs = math.max(nowUs, us)
  nowMs = math.floor(nowUs / millisecondUs)
end

local function secondOf(us)
  return math.floor(us / secondUs)
end

-- A second's string: a double, and for each slice the microsecond of the second at which it ended, and a double.
local headBytes, sliceBytes = 8, 12

local function sizeOf(slices)
  return slices == '' and 0 or (#slices - headBytes) / sliceBytes
end

local function sliceAt(slices, at)
  local us, count = struct.unpack('<I4d', slices, headBytes + (at - 1) * sliceBytes + 1)
  return us, count
end

local function countOf(slices)
  if slices == '' then return 0 end
  local count = struct.unpack('<d', slices)
  return count
end

local function sumOf(slices, first)
  local sum = 0
  for at = 1, first do
    local _, count = sliceAt(slices, at)
    sum = sum + count
  end
  return sum
end

-- The same with other slices in place of some, and by so much more.
local function replaced(slices, at, size, others, by)
  local before = string.sub(slices, headBytes + 1, headBytes + (at - 1) * sliceBytes)
  local after = string.sub(slices, headBytes + (at - 1 + size) * sliceBytes + 1)
  local all = before .. others .. after
  return all == '' and '' or struct.pack('<d', countOf(slices) + by) .. all
end

-- The first slice that ended at this microsecond of its second, or later.
local function findSlice(slices, us)
  local low, high = 1, sizeOf(slices) + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if sliceAt(slices, middle) < us then low = middle + 1 else high = middle end
  end
  return low
end

-- What was taken in a second; who goes on to later ones reads some of them at once.
local function slicesIn(minute, second, last)
  if not minute.seconds[second] and minute.isKept then
    local fields = {}
    for one = second, math.min(second + 9, last or second) do fields[#fields + 1] = one end
    for at, slices in ipairs(redis.call('HMGET', minute.key, unpack(fields))) do
      minute.seconds[fields[at]] = minute.seconds[fields[at]] or slices or ''
    end
  end
  return minute.seconds[second] or ''
end

local function changeSecond(minute, second, slices)
  minute.seconds[second], minute.isChanged[second] = slices, true
end

-- When the oldest that counts was taken, of what was taken in this second or later.
local function oldestFrom(minute, from)
  local last = secondOf(minute.us)
  for second = from, last do
    local slices = slicesIn(minute, second, second > from and last or nil)
    if slices ~= '' then return second * secondUs + sliceAt(slices, 1) end
  end
  return minute.us
end

-- What has left the minute is left out here, and deleted when something is written.
local function forget(minute)
  local untilUs = minute.us - minuteUs
  while minute.total > 0 and minute.oldest <= untilUs do
    local second = secondOf(minute.oldest)
    local slices = slicesIn(minute, second)
    local left = findSlice(slices, untilUs + 1 - second * secondUs) - 1
    local count = left == sizeOf(slices) and countOf(slices) or sumOf(slices, left)
    changeSecond(minute, second, replaced(slices, 1, left, '', -count))
    minute.total = minute.total - count
    minute.oldest = oldestFrom(minute, second)
  end
end

local function openMinute(key)
  local kept = redis.call('HMGET', key, 'newest', 'oldest', 'total', secondOf(nowUs))
  local newest = tonumber(kept[1])
  -- A clock that was set back by more than a minute begins a new one: nobody waits until it has caught up.
  local isKept = newest ~= nil and newest > nowUs - minuteUs and newest < nowUs + minuteUs
  if not isKept then
    return { key = key, isKept = false, isStale = newest ~= nil, isNew = true, us = nowUs, oldest = nowUs, total = 0,
      seconds = {}, isChanged = {} }
  end
  local minute = { key = key, isKept = true, isStale = false, isNew = secondOf(newest) < secondOf(nowUs), us = nowUs,
    oldest = tonumber(kept[2]), total = tonumber(kept[3]), seconds = { [secondOf(nowUs)] = kept[4] or '' }, isChanged = {} }
  notBefore(newest)
  minute.us = nowUs
  forget(minute)
  return minute
end

local function saveMinute(minute)
  if minute.total <= 0 then return redis.call('DEL', minute.key) end
  if minute.isStale then redis.call('DEL', minute.key) end
  local left, fields = {}, { 'newest', minute.us, 'oldest', minute.oldest, 'total', minute.total }
  for second in pairs(minute.isChanged) do
    local slices = minute.seconds[second]
    if slices == '' then
      left[#left + 1] = second
    else
      fields[#fields + 1] = second
      fields[#fields + 1] = slices
    end
  end
  if #left > 0 then redis.call('HDEL', minute.key, unpack(left)) end
  redis.call('HSET', minute.key, unpack(fields))
  if minute.isNew then redis.call('PEXPIRE', minute.key, rateKeptMs) end
end

local function changeMinute(minute, atUs, by)
  local second = secondOf(atUs)
  local slices, us = slicesIn(minute, second), atUs - second * secondUs
  local fromUs = us - us % millisecondUs
  local at = findSlice(slices, fromUs)
  local endUs, before, size = us, 0, 0
  if at <= sizeOf(slices) and sliceAt(slices, at) < fromUs + millisecondUs then
    endUs, before = sliceAt(slices, at)
    endUs, size = math.max(endUs, us), 1
  end
  local after = math.max(0, before + by)
  if after == before then return end
  local slice = after > 0 and struct.pack('<I4d', endUs, after) or ''
  changeSecond(minute, second, replaced(slices, at, size, slice, after - before))
  minute.total = minute.total + after - before
  if second <= secondOf(minute.oldest) then minute.oldest = oldestFrom(minute, second) end
  saveMinute(minute)
end

local function leavesInMs(us)
  return math.ceil((us + minuteUs - nowUs) / millisecondUs)
end

local function rateStanding(minute, limit)
  return math.max(0, limit - minute.total), minute.total > 0 and leavesInMs(minute.oldest) or 0
end

local function fitsInMs(minute, amount, limit)
  if amount > limit then return minuteUs / millisecondUs end
  local tooMuch, first, last = minute.total + amount - limit, secondOf(minute.oldest), secondOf(minute.us)
  for second = first, last do
    local slices = slicesIn(minute, second, second > first and last or nil)
    local count = countOf(slices)
    if count >= tooMuch then
      for at = 1, sizeOf(slices) do
        local us, ofSlice = sliceAt(slices, at)
        tooMuch = tooMuch - ofSlice
        if tooMuch <= 0 then return leavesInMs(second * secondUs + us) end
      end
    end
    tooMuch = tooMuch - count
  end
  return leavesInMs(minute.us)
end

local function firstEndMs(key)
  return tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
end

local function hasSpoken(name)
  return (tonumber(redis.call('ZSCORE', KEYS[1], name)) or 0) >= serverMs() - nodeSilentMs
end

-- An entry of the list of nodes that names no node: a node that lives was missing from the list, so the list was lost, or the
-- clock was put forward. Until all that live have spoken again, nobody can tell by the list who is gone.
local lost = 'lost'

-- Who has a place, and which places are free for the taking because their node is gone. A take looks at the nodes only when
-- there is no room otherwise. A node that is not in the list itself trusts it no further: the list was lost.
local function openPlaces(key, limit)
  local endMs = firstEndMs(key)
  if endMs and endMs <= nowMs then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', nowMs))
    endMs = firstEndMs(key)
  end
  local places = { key = key, endMs = endMs, used = endMs and redis.call('ZCARD', key) or 0, gone = nil }
  if (places.used >= limit or asked == 'look') and hasSpoken(node) and not hasSpoken(lost) then
    local isGone, gone = {}, {}
    for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
      local of = string.match(member, '^%S+')
      if isGone[of] == nil then isGone[of] = not hasSpoken(of) end
      if isGone[of] then gone[#gone + 1] = member end
    end
    if #gone > 0 then places.used, places.gone = places.used - #gone, gone end
  end
  return places
end

local function addPlace(key, holder, leaseMs)
  local added = redis.call('ZADD', key, nowMs + leaseMs, node .. ' ' .. holder)
  -- For longer than needed, so that it is not said again for each.
  if redis.call('PTTL', key) < leaseMs then redis.call('PEXPIRE', key, 2 * leaseMs) end
  return added
end

local function takePlace(places, holder, leaseMs)
  local key, endMs = places.key, nowMs + leaseMs
  -- One by one: there may be more than fit into one command.
  for _, member in ipairs(places.gone or {}) do redis.call('ZREM', key, member) end
  local added = addPlace(key, holder, leaseMs)
  places.used = places.used + added
  places.endMs = added == 1 and not places.gone and math.min(places.endMs or endMs, endMs) or firstEndMs(key)
end

local function placesStanding(places, limit, leaseMs)
  return math.max(0, limit - places.used), math.min(places.endMs or nowMs + leaseMs, nowMs + leaseMs) - nowMs
end

-- The words of a want: 'rate', amount, limit, '' or 'slot', holder, limit, lease in ms.
local function readWant(at)
  local word = 4 * at - 4
  local want = { key = KEYS[at], limit = tonumber(ARGV[word + 2]), holder = ARGV[word + 1], amount = tonumber(ARGV[word + 1]), leaseMs = tonumber(ARGV[word + 3]) }
  if ARGV[word] == 'rate' then want.minute = openMinute(want.key) else want.places = openPlaces(want.key, want.limit) end
  return want
end

local function standing(want)
  if want.minute then return rateStanding(want.minute, want.limit) end
  return placesStanding(want.places, want.limit, want.leaseMs)
end

if asked == 'take' then
  local wants = {}
  for at = 2, #KEYS do
    local want = readWant(at)
    local fits = want.places and want.places.used < want.limit
    if want.minute then fits = want.minute.total + want.amount <= want.limit end
    if not fits then
      local remaining, resetsInMs = standing(want)
      -- Nobody knows when a holder returns its place; a second is a fair time to ask again.
      local retryInMs = want.minute and fitsInMs(want.minute, want.amount, want.limit) or 1000
      return { 0, at - 2, remaining, resetsInMs, retryInMs }
    end
    wants[#wants + 1] = want
  end
  local answer = { 1, nowMs }
  for _, want in ipairs(wants) do
    local minute = want.minute
    if minute then
      if minute.us < nowUs then minute.us, minute.isNew = nowUs, true end
      changeMinute(minute, nowUs, want.amount)
    else
      takePlace(want.places, want.holder, want.leaseMs)
    end
    local remaining, resetsInMs = standing(want)
    answer[#answer + 1] = remaining
    answer[#answer + 1] = resetsInMs
  end
  return answer
end

if asked == 'look' then return { standing(readWant(2)) } end

-- The words of what comes back: 'rate', by how much it changes, when it was taken, '' or 'slot', holder, '', ''.
if asked == 'return' then
  for at = 2, #KEYS do
    local word = 4 * at - 4
    if ARGV[word] == 'slot' then
      redis.call('ZREM', KEYS[at], node .. ' ' .. ARGV[word + 1])
    else
      local minute, by = openMinute(KEYS[at]), tonumber(ARGV[word + 1])
      local atUs = math.floor(ARGV[word + 2]) * millisecondUs
      -- What no longer counts stays gone; what is to be added all the same counts from now on.
      if atUs <= minute.us - minuteUs then atUs = by > 0 and minute.us or nil end
      if atUs and atUs <= minute.us then changeMinute(minute, atUs, by) end
    end
  end
  return {}
end

local function idOf(name)
  local id, number = string.match(name, '^(.*):(%d+)$')
  return id or name, tonumber(number) or 0
end

local ownId, ownNumber = idOf(node)

local function isEarlierName(name)
  local id, number = idOf(name)
  return id == ownId and number < ownNumber
end

-- What this node has under earlier names, by holder. After a failure nobody knows which: there may be several.
local function earlierPlaces(key)
  local places = {}
  for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    local name, holder = string.match(member, '^(%S+) (.*)$')
    if isEarlierName(name) then
      places[holder] = places[holder] or {}
      table.insert(places[holder], member)
    end
  end
  return places
end

-- The words of what a node had under earlier names and still needs: 'slot', holder, '', what is left of the lease in ms.
-- It is not asked whether there is room: these calls run, and count as before while their node changes its name.
if asked == 'rename' then
  local earlier = {}
  for at = 2, #KEYS do
    local key, holder, leftMs = KEYS[at], ARGV[4 * at - 3], tonumber(ARGV[4 * at - 1])
    earlier[key] = earlier[key] or earlierPlaces(key)
    addPlace(key, holder, leftMs)
    for _, member in ipairs(earlier[key][holder] or {}) do redis.call('ZREM', key, member) end
  end
  return {}
end

-- Nodes say that they are there, and hear how many are, and whether they were taken for gone. Who has just come keeps its
-- earlier names until it has brought over what stands under them. Only earlier ones are dropped: this may be heard late,
-- after a later one was said.
if asked == 'come' or asked == 'join' then
  local spokeMs, count, isCounted = serverMs(), 0, {}
  local heardMs = tonumber(redis.call('ZSCORE', KEYS[1], node) or -math.huge)
  local added = heardMs > spokeMs - nodeSilentMs and 0 or 1
  -- The first write, because a Redis without memory refuses none that comes after one which needs no more: the node would
  -- be told that it can count here, and the next take that it cannot.
  redis.call('ZADD', KEYS[1], spokeMs, node)
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', spokeMs - nodeSilentMs))
  if asked == 'join' and added == 1 then redis.call('ZADD', KEYS[1], spokeMs, lost) end
  redis.call('PEXPIRE', KEYS[1], nodesKeptMs)
  for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    local id = idOf(name)
    if name ~= lost and not isCounted[id] then count, isCounted[id] = count + 1, true end
    if asked == 'join' and isEarlierName(name) then redis.call('ZREM', KEYS[1], name) end
  end
  return { count, added }
end

redis.call('ZREM', KEYS[1], node)
return {}
`;
