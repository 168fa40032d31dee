import { checkCallId } from "../call-id.ts";
import { textOf, type Member } from "./members.ts";

/**
 * Which result answers which call. Gemini lets both go without an id and matches them by name and order;
 * the other dialects match by id alone, so a call without one is given one, the same at every reading.
 */
export interface CallIds {
  readonly called: (call: { readonly id: string | undefined; readonly name: string }) => string;
  /** The id of the call that is answered, or undefined when there is none to answer. */
  readonly answered: (result: {
    readonly id: string | undefined;
    readonly name: string | undefined;
  }) => string | undefined;
}

interface Call {
  readonly id: string;
  isAnswered: boolean;
}

export function createCallIds(): CallIds {
  const byId = new CallQueues();
  const byName = new CallQueues();
  const madeUpByName = new CallQueues();
  let made = 0;

  const makeId = (): string => {
    while (byId.has(`call_${made}`)) made++;
    return `call_${made}`;
  };

  return {
    called: ({ id: given, name }) => {
      const id = given ?? makeId();
      const call = { id, isAnswered: false };
      byId.add(id, call);
      byName.add(name, call);
      if (given === undefined) madeUpByName.add(name, call);
      return id;
    },
    answered: ({ id, name = "" }) => {
      if (id === undefined) return byName.next(name)?.id;
      return (byId.has(id) ? byId.next(id) : madeUpByName.next(name))?.id ?? id;
    },
  };
}

/** Calls under a word, in their order. Those that were answered under another word are passed over, each once. */
class CallQueues {
  readonly #queues = new Map<string, { readonly calls: Call[]; at: number }>();

  has(word: string): boolean {
    return this.#queues.has(word);
  }

  add(word: string, call: Call): void {
    const queue = this.#queues.get(word);
    if (queue) queue.calls.push(call);
    else this.#queues.set(word, { calls: [call], at: 0 });
  }

  /** The first that is not answered yet, which it now is. */
  next(word: string): Call | undefined {
    const queue = this.#queues.get(word);
    while (queue && queue.at < queue.calls.length) {
      const call = queue.calls[queue.at++];
      if (!call || call.isAnswered) continue;
      call.isAnswered = true;
      return call;
    }
    return undefined;
  }
}

export function readCallId(member: Member | undefined): string | undefined {
  const id = textOf(member);
  return member === undefined || id === undefined ? undefined : checkCallId(id, member.path);
}
