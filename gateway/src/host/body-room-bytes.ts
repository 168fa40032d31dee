/**
 * How much all bodies together may take: an eighth of the memory that the machine, or whoever confines us, gives. A call keeps
 * its body two or three times until it is answered: as it came, as it was read, and as it is sent on.
 */
export const bodyRoomBytesUsual = (memoryBytes = process.constrainedMemory()): number =>
  Math.max(bodyRoomBytesLeast, Math.floor(memoryBytes / 8));

/** Four of the largest at once. */
const bodyRoomBytesLeast = 128 * 1024 * 1024;
