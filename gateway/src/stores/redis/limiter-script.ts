/**
 * All of the limiter, in Redis itself: nothing comes between the look at a limit and the taking, and whatever a call
 * wants is decided in one go.
 *
 * A rate is a hash: how much was taken in each second that still counts, their `total`, and the `oldest` and `newest` of
 * them. As in `sliding-minute.ts`, sixty-one seconds count, so that no sixty, wherever they begin, hold more than the
 * limit. A number of places is a sorted set: `node holder`, by the end of the lease. KEYS[1] are the nodes, by when they
 * last spoke; a node that fell silent loses its places as soon as somebody needs them, long before its leases end.
 *
 * Keys that are not there yet stand for nothing taken, so a Redis that was emptied begins anew. Everything expires.
 *
 * ARGV: what is asked, the time (only for tests; otherwise it is this server's), the node that asks; then four words
 * for each further key, which are explained where they are read.
 */
export const limiterScript = `
local asked, node = ARGV[1], ARGV[3]
local secondsKept, rateKeptMs = 61, 62000
local nodeSilentMs, nodesKeptMs = 20000, 60000

local function serverMs()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local nowMs = tonumber(ARGV[2]) or serverMs()
local nowSecond = math.floor(nowMs / 1000)

local function countsOf(key, from, to)
  local seconds = {}
  for second = from, to do seconds[#seconds + 1] = second end
  return redis.call('HMGET', key, unpack(seconds))
end

-- What is no longer in the minute is left out here, and deleted when something is written.
local function openMinute(key)
  local kept = redis.call('HMGET', key, 'newest', 'oldest', 'total', nowSecond)
  local newest = tonumber(kept[1])
  -- A clock that was set back by more than a minute begins a new one: nobody waits until it has caught up.
  if not newest or newest <= nowSecond - secondsKept or newest >= nowSecond + secondsKept then
    return { key = key, isNew = true, isStale = newest ~= nil, second = nowSecond, oldest = nowSecond, total = 0, count = 0 }
  end
  local minute = { key = key, isNew = newest < nowSecond, second = math.max(newest, nowSecond), oldest = tonumber(kept[2]),
    total = tonumber(kept[3]), count = tonumber(kept[4]) or 0, left = nil }
  if newest > nowSecond then minute.count = tonumber(redis.call('HGET', key, newest)) or 0 end
  local firstKept = minute.second - secondsKept + 1
  if minute.oldest < firstKept then
    local oldest, left = nil, {}
    for at, written in ipairs(countsOf(key, minute.oldest, newest)) do
      local second, count = minute.oldest + at - 1, tonumber(written) or 0
      if count > 0 and second < firstKept then
        minute.total = minute.total - count
        left[#left + 1] = second
      elseif count > 0 and not oldest then
        oldest = second
      end
    end
    minute.oldest, minute.left = oldest or minute.second, left
  end
  return minute
end

local function saveMinute(minute, second, count)
  if minute.total <= 0 then return redis.call('DEL', minute.key) end
  if minute.isStale then redis.call('DEL', minute.key) end
  if minute.left then redis.call('HDEL', minute.key, unpack(minute.left)) end
  -- A second in which nothing counts any more would never be looked at again, and stay as long as the limit is in use.
  if count == 0 then redis.call('HDEL', minute.key, second) end
  local counted = count > 0 and { second, count } or {}
  redis.call('HSET', minute.key, 'newest', minute.second, 'oldest', minute.oldest, 'total', minute.total, unpack(counted))
  if minute.isNew then redis.call('PEXPIRE', minute.key, rateKeptMs) end
end

local function changeMinute(minute, second, by)
  local before = minute.count
  if second ~= minute.second then before = tonumber(redis.call('HGET', minute.key, second)) or 0 end
  local after = math.max(0, before + by)
  if after == before then return end
  if second == minute.second then minute.count = after end
  if minute.total == 0 or second < minute.oldest then minute.oldest = second end
  minute.total = minute.total + after - before
  if after == 0 and second == minute.oldest and second < minute.second then
    for at, written in ipairs(countsOf(minute.key, second + 1, minute.second)) do
      minute.oldest = second + at
      if (tonumber(written) or 0) > 0 then break end
    end
  end
  saveMinute(minute, second, after)
end

local function leavesInMs(second)
  return (second + secondsKept) * 1000 - nowMs
end

local function rateStanding(minute, limit)
  return math.max(0, limit - minute.total), minute.total > 0 and leavesInMs(minute.oldest) or 0
end

local function fitsInMs(minute, amount, limit)
  if amount > limit then return 60000 end
  local total = minute.total
  for at, written in ipairs(countsOf(minute.key, minute.oldest, minute.second)) do
    total = total - (tonumber(written) or 0)
    if total + amount <= limit then return leavesInMs(minute.oldest + at - 1) end
  end
  return leavesInMs(minute.second)
end

local function firstEndMs(key)
  return tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
end

-- Who has a place, and whose of these are free for the taking because their node is gone. Nodes are looked at only when
-- there is no room without.
local function openPlaces(key, limit)
  local endMs = firstEndMs(key)
  if endMs and endMs <= nowMs then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', nowMs))
    endMs = firstEndMs(key)
  end
  local places = { key = key, endMs = endMs, used = endMs and redis.call('ZCARD', key) or 0, gone = nil }
  if places.used >= limit then
    local spokeAfterMs, isGone, gone = serverMs() - nodeSilentMs, {}, {}
    for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
      local of = string.match(member, '^%S+')
      if isGone[of] == nil then
        isGone[of] = of ~= node and (tonumber(redis.call('ZSCORE', KEYS[1], of)) or 0) < spokeAfterMs
      end
      if isGone[of] then gone[#gone + 1] = member end
    end
    if #gone > 0 then places.used, places.gone = places.used - #gone, gone end
  end
  return places
end

local function takePlace(places, holder, leaseMs)
  local key, endMs = places.key, nowMs + leaseMs
  -- One by one: there may be more than fit into one command.
  for _, member in ipairs(places.gone or {}) do redis.call('ZREM', key, member) end
  local added = redis.call('ZADD', key, endMs, node .. ' ' .. holder)
  places.used = places.used + added
  places.endMs = added == 1 and not places.gone and math.min(places.endMs or endMs, endMs) or firstEndMs(key)
  -- For longer than needed, so that it is not said again for each.
  if redis.call('PTTL', key) < leaseMs then redis.call('PEXPIRE', key, 2 * leaseMs) end
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
    if want.minute then
      changeMinute(want.minute, want.minute.second, want.amount)
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
      local second = math.floor(tonumber(ARGV[word + 2]) / 1000)
      -- What no longer counts stays gone; what is to be added all the same counts from now on.
      if second <= minute.second - secondsKept then second = by > 0 and minute.second or nil end
      if second and second <= minute.second then changeMinute(minute, second, by) end
    end
  end
  return {}
end

-- Nodes say that they are there, and hear how many are.
if asked == 'join' then
  local spokeMs = serverMs()
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', spokeMs - nodeSilentMs))
  redis.call('ZADD', KEYS[1], spokeMs, node)
  redis.call('PEXPIRE', KEYS[1], nodesKeptMs)
  return { redis.call('ZCARD', KEYS[1]) }
end

redis.call('ZREM', KEYS[1], node)
return {}
`;
