// What a thought is signed with: by Anthropic itself, or by nobody, or it only carries what another vendor signed the call
// after it with (see write-answer.ts).

import type { ChatPart } from "../chat.ts";
import { readMarked } from "../marks.ts";

interface Signed {
  /** Anthropic's own; undefined where it signed nothing. */
  readonly signature?: string;
  readonly forNextCall?: string;
}

export function readSignature(signature: string): Signed {
  if (signature === "") return {};
  const read = readMarked(signature);
  if (read === undefined) return { signature };
  return read.mark === "gemini" ? { forNextCall: read.token } : {};
}

/** Takes the parts of a message in their order and gives each call the signature that was carried before it. */
export class CarriedSignature {
  #carried: string | undefined;

  /** A thought without what it carries; none where that is all it was. */
  thought(text: string, written: string): ChatPart[] {
    const { signature, forNextCall } = readSignature(written);
    if (forNextCall !== undefined) this.#carried = forNextCall;
    if (signature !== undefined) return [{ kind: "reasoning", text, signature }];
    return text === "" ? [] : [{ kind: "reasoning", text }];
  }

  carry(signature: string | undefined): void {
    this.#carried = signature ?? this.#carried;
  }

  take(): { readonly signature?: string } {
    const signature = this.#carried;
    this.#carried = undefined;
    return signature === undefined ? {} : { signature };
  }
}
