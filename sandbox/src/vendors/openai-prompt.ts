// What the model reads, and what it counts as.
import { countTokens } from "../tokens.ts";
import { isNothing } from "../vendor.ts";
import type { ChatRequest } from "./openai-request.ts";

const tokensPerMessage = 3;
const tokensOfPriming = 3;
// The vendor's figure for an image of low detail. It may exceed the bytes of the image's address.
const tokensPerImage = 85;

export const promptOf = ({ messages, toolsSent }: ChatRequest): { text: string; tokens: number } => {
  const turns = messages.map(({ role, text, toolCalls }) => `${role}\n${text}${jsonOf(toolCalls)}`);
  const text = jsonOf(toolsSent) + turns.join("\n");
  const images = messages.reduce((sum, message) => sum + message.images, 0);
  return {
    text,
    tokens:
      countTokens(text) + messages.length * tokensPerMessage + tokensOfPriming + images * tokensPerImage,
  };
};

const jsonOf = (sent: unknown): string => (isNothing(sent) ? "" : JSON.stringify(sent));
