/** What models are for; each operation that is called with one takes those of one kind. */
export const modelKinds = ["chat", "rerank", "embedding", "image", "video"] as const;

export type ModelKind = (typeof modelKinds)[number];
