import { BodyRoom } from "../../wire/body-room.ts";

/**
 * Room for the requests of sessions that wait until a person has answered. Each keeps its message for minutes, and nothing
 * was paid for it: without a bound, a client whose person never answers would fill the memory.
 */
export interface WaitingRoom {
  /** Waits for what begins; without room nothing begins, and undefined comes back at once. */
  readonly wait: <Answer>(
    request: WaitingRequest,
    begin: () => Promise<Answer>,
  ) => Promise<Answer | undefined>;
}

interface WaitingRequest {
  readonly accountId: string;
  readonly messageBytes: number;
}

/** Of this an account may have what it leaves to all others: alone 16 MiB, which is four of the longest messages. */
const roomBytes = 32 * 1024 * 1024;
/** What a request takes however short it is, with its stream and its timer: alone, an account has 256 that wait. */
const requestBytesMin = 64 * 1024;

export function createWaitingRoom(): WaitingRoom {
  const room = new BodyRoom(roomBytes);
  return {
    wait: async ({ accountId, messageBytes }, begin) => {
      const bytes = Math.max(messageBytes, requestBytesMin);
      if (!room.take(accountId, bytes)) return undefined;
      try {
        return await begin();
      } finally {
        room.giveBack(accountId, bytes);
      }
    },
  };
}
