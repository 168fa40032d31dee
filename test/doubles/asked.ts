// What a model was asked, in words that are no vendor's: two dialects that mean the same read the same.

export interface Asked {
  readonly model: string;
  /** Instructions, one paragraph a line. */
  readonly system: string;
  /** Neighbours with one role are one turn; what tools answered is part of a user's turn. */
  readonly turns: readonly Turn[];
  /** Their names. */
  readonly tools: readonly string[];
  readonly toolChoice: "auto" | "none" | "required" | { readonly name: string } | null;
  readonly maxOutputTokens: number | null;
  readonly temperature: number | null;
  readonly stop: readonly string[];
  readonly stream: boolean;
  /** The schema as it was sent; `json` for any JSON at all; null for text. */
  readonly outputSchema: unknown;
  readonly reasoning: AskedReasoning | null;
}

export type AskedReasoning = "off" | { readonly effort: string } | { readonly budgetTokens: number };

export interface Turn {
  readonly role: "user" | "assistant";
  /** Its texts, one a line. */
  readonly text: string;
  /** Addresses; bytes as data URLs. */
  readonly images: readonly string[];
  readonly toolCalls: readonly AskedToolCall[];
  readonly toolResults: readonly AskedToolResult[];
}

interface AskedToolCall {
  /** Null where the dialect gives none. */
  readonly id: string | null;
  readonly name: string;
  /** Parsed; the text itself where it is not JSON. */
  readonly arguments: unknown;
}

interface AskedToolResult {
  /** As sent, else that of the call it answers. */
  readonly id: string | null;
  /** As sent, else that of the call it answers. */
  readonly name: string | null;
  readonly text: string;
  /** Always false where the dialect cannot say it. */
  readonly isError: boolean;
}

/** One message as it came. */
export interface Draft {
  readonly role: "user" | "assistant";
  readonly texts?: readonly string[];
  readonly images?: readonly string[];
  readonly toolCalls?: readonly AskedToolCall[];
  readonly toolResults?: readonly AskedToolResult[];
}

export function turnsOf(drafts: readonly Draft[]): readonly Turn[] {
  const calls = drafts.flatMap(({ toolCalls = [] }) => toolCalls);
  const turns: Turn[] = [];
  for (const { role, texts = [], images = [], toolCalls = [], toolResults = [] } of drafts) {
    const before = turns.at(-1)?.role === role ? turns.pop() : undefined;
    turns.push({
      role,
      text: [...(before?.text ? [before.text] : []), ...texts].join("\n"),
      images: [...(before?.images ?? []), ...images],
      toolCalls: [...(before?.toolCalls ?? []), ...toolCalls],
      toolResults: [
        ...(before?.toolResults ?? []),
        ...toolResults.map((result) => ({
          ...result,
          id: result.id ?? calls.find(({ name }) => name === result.name)?.id ?? null,
          name: result.name ?? calls.find(({ id }) => id === result.id)?.name ?? null,
        })),
      ],
    });
  }
  return turns;
}

/**
 * The first call that the next turn does not answer, or answer to no call of the turn before: what Anthropic refuses,
 * to which neighbours with one role are one turn.
 */
export function toolMismatch(
  turns: readonly Turn[],
): { readonly kind: "unanswered" | "uncalled"; readonly id: string } | undefined {
  for (const [index, { toolCalls, toolResults }] of turns.entries()) {
    const called = turns[index - 1]?.toolCalls ?? [];
    const stray = toolResults.find((result) => !called.some(({ id }) => id === result.id));
    if (stray) return { kind: "uncalled", id: stray.id ?? "" };
    const answered = turns[index + 1]?.toolResults ?? [];
    const open = toolCalls.find((call) => !answered.some(({ id }) => id === call.id));
    if (open) return { kind: "unanswered", id: open.id ?? "" };
  }
  return undefined;
}
