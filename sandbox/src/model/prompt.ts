// What the model reads, and what it counts as.

import { countTokens } from "../tokens.ts";
import type { Block, CacheTime, Conversation, Turn } from "./conversation.ts";

const tokensPerTurn = 3;
const tokensOfPriming = 3;
// The figure one vendor gives for an image of low detail. It may exceed the bytes of the image's address.
const tokensPerImage = 85;

export interface Prompt {
  readonly text: string;
  readonly tokens: number;
  readonly imageTokens: number;
  /** In order; a cached beginning may end with any of them. */
  readonly segments: readonly Segment[];
}

export interface Segment {
  readonly text: string;
  readonly image: string | undefined;
  readonly cacheFor: CacheTime | undefined;
  /** Whether a turn ends here. */
  readonly endsTurn: boolean;
}

export function promptOf(read: Pick<Conversation, "turns" | "tools">): Prompt {
  const segments = [...toolSegments(read), ...read.turns.flatMap(turnSegments)];
  return {
    text: textOfAll(segments),
    tokens: tokensUpTo(segments) + tokensOfPriming,
    imageTokens: imagesIn(segments) * tokensPerImage,
    segments,
  };
}

/** What a prompt counts as that ends after these segments. */
export const tokensUpTo = (segments: readonly Segment[]): number =>
  countTokens(textOfAll(segments)) +
  segments.filter(({ endsTurn }) => endsTurn).length * tokensPerTurn +
  imagesIn(segments) * tokensPerImage;

const textOfAll = (segments: readonly Segment[]): string => segments.map(({ text }) => text).join("");

const imagesIn = (segments: readonly Segment[]): number =>
  segments.filter(({ image }) => image !== undefined).length;

function toolSegments({ tools }: Pick<Conversation, "tools">): Segment[] {
  if (tools.length === 0) return [];
  // Without what is not part of the model's reading: how long to cache it.
  const read = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  const cacheFor = tools.findLast((tool) => tool.cacheFor !== undefined)?.cacheFor;
  return [{ text: JSON.stringify(read), image: undefined, cacheFor, endsTurn: false }];
}

function turnSegments(turn: Turn, n: number): Segment[] {
  const calls = turn.calls.length === 0 ? "" : JSON.stringify(turn.calls);
  const blocks: readonly Block[] = turn.blocks.length === 0 ? [{ text: "" }] : turn.blocks;
  return blocks.map((block, i) => {
    const endsTurn = i === blocks.length - 1;
    const before = i > 0 ? "\n" : `${n === 0 ? "" : "\n"}${turn.role}\n`;
    return {
      text: before + block.text + (endsTurn ? calls : ""),
      image: block.image,
      cacheFor: block.cacheFor ?? (endsTurn ? turn.cacheFor : undefined),
      endsTurn,
    };
  });
}
