import type { ImagePart } from "./chat.ts";

/** For dialects that have no place for a drawn image but a text. */
export const markdownImage = ({ source }: Pick<ImagePart, "source">): string =>
  `![image](${"url" in source ? source.url : `data:${source.mimeType};base64,${source.base64}`})`;
