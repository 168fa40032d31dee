import { stem } from "./search-words.ts";

// Words that agents use for the same thing. Only everyday language stands here; what is particular to one operation
// belongs into its `keywords`.

const groups: readonly string[] = [
  "image picture drawing illustration artwork render photo photograph painting",
  "video clip movie film footage",
  "create generate make produce synthesize draw paint",
  "find search lookup look discover fetch retrieve",
  "list available catalogue catalog enumerate show",
  "history past recent previous log earlier",
  "price cost pricing rate charge fee",
  "spend spent spending charged paid bill billed billing usage consumption",
  "balance credit fund money wallet remaining left",
  "limit quota throttle throughput allowance cap",
  "request call",
  "receipt invoice explain reason",
  "increase raise higher more upgrade apply application",
  "comment reply replies discussion saying opinion",
  "hashtag tag",
  "trend trending popular popularity viral",
  "suggestion suggest autocomplete autosuggest idea",
  "shop store product ecommerce",
  "website site domain web",
  "traffic visit visitor audience engagement",
  "company stock ticker equity corporate business",
  "financial finance fundamental valuation ratio",
  "document passage text chunk snippet paragraph",
  "rerank reranker order sort rank relevance relevant",
  "embedding embed vector vectorize",
  "semantic similar similarity meaning",
  "research investigate investigation report study",
  "cite citation source reference",
  "internet web online",
  "chat conversation talk ask answer assistant message",
  "llm model gpt",
  "write writing rewrite summarize summary translate classify extract proofread draft code debug fix sentiment",
  "token tokenize tokenizer length size",
  "count estimate number",
  "stream streaming incremental piece",
  "status state progress poll check finished done ready",
  "cancel stop abort kill",
  "task job",
  "connect link authorize authorization oauth login sign",
  "account user profile",
  "story stories",
  "quote quoted quoting",
  "tweet post",
];

/** Each word's relatives, by stems. */
export const relatives: ReadonlyMap<string, readonly string[]> = createRelatives();

function createRelatives(): Map<string, string[]> {
  const all = new Map<string, string[]>();
  for (const group of groups) {
    const stems = [...new Set(group.split(" ").map(stem))];
    for (const one of stems) {
      all.set(one, [...new Set([...(all.get(one) ?? []), ...stems.filter((other) => other !== one)])]);
    }
  }
  return all;
}
