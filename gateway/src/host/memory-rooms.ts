// How much of the memory that the machine, or whoever confines us, gives may be taken by what others send and do not read.

/** All bodies together. A call keeps its body two or three times until it is answered: as it came, as it was read, as it is sent on. */
export const bodyRoomBytesUsual = (memoryBytes = process.constrainedMemory()): number =>
  Math.max(bodyRoomBytesMin, eighthOf(memoryBytes));

/** All answers together that their callers have yet to read. Nobody needs more of it for having more memory. */
export const unreadRoomBytesUsual = (memoryBytes = process.constrainedMemory()): number =>
  Math.min(Math.max(unreadRoomBytesMin, eighthOf(memoryBytes)), unreadRoomBytesMax);

/** Four of the largest bodies at once. */
const bodyRoomBytesMin = 128 * 1024 * 1024;

/** Two of the largest answers, and four. */
const unreadRoomBytesMin = 128 * 1024 * 1024;
const unreadRoomBytesMax = 256 * 1024 * 1024;

const eighthOf = (memoryBytes: number): number => Math.floor(memoryBytes / 8);
