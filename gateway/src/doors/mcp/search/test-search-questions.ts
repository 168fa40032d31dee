// What agents ask for, in their words, and the operation that serves it. Written before the search was, so that the
// search is measured by the questions and not the questions by the search. Every second question is held out: nobody
// looks at those while tuning.

export interface SearchQuestion {
  readonly asked: string;
  /** Any of these among the first three results is a hit. */
  readonly wanted: readonly string[];
}

const conversations = [
  "chat.completions.create",
  "messages.create",
  "responses.create",
  "models.generate_content",
] as const;

const questions: readonly (readonly [asked: string, ...wanted: string[]])[] = [
  ["get the comments under an instagram reel", "social_b.post.comments"],
  ["what are people saying under this photo post", "social_b.post.comments"],
  ["rerank search results by relevance", "rerank.create"],
  ["which of these passages best answers my question, sort them", "rerank.create"],
  ["market cap and P/E ratio of Apple", "financial.metrics.snapshot"],
  ["company fundamentals by ticker symbol", "financial.metrics.snapshot"],
  ["how much money is left on my account", "credits.balance"],
  ["check remaining credits before running an expensive job", "credits.balance"],
  ["generate an image from a text prompt", "images.generate"],
  ["make a picture of a cat wearing a hat", "images.generate"],
  ["text embeddings for semantic search", "embeddings.create"],
  ["convert sentences to vectors", "embeddings.create"],
  ["tweets that quote a given tweet", "social_a.tweet.quotes"],
  ["who quote-tweeted this post id", "social_a.tweet.quotes"],
  ["deep research on a topic with sources", "research.deep_search"],
  ["search the web and cite sources", "research.deep_search"],
  ["how many visitors does a website get per month", "traffic_analytics.website.traffic_engagement"],
  ["competitor site visits bounce rate", "traffic_analytics.website.traffic_engagement"],
  ["hashtag details on tiktok", "reseller.social_c.tag_detail"],
  ["how popular is a hashtag, number of views and posts", "reseller.social_c.tag_detail"],
  ["instagram stories of a user", "reseller.social_b.user_stories"],
  ["see someone's current story", "reseller.social_b.user_stories"],
  ["autocomplete suggestions for tiktok shop search", "reseller.social_c.search_word_suggestion"],
  ["keyword ideas for shop products", "reseller.social_c.search_word_suggestion"],
  [
    "videos trending for a search keyword creator insights",
    "reseller.social_c.creator_search_insights_videos",
  ],
  ["find short videos about a keyword", "reseller.social_c.creator_search_insights_videos"],
  ["openai compatible chat completion", "chat.completions.create"],
  ["ask gpt a question", "chat.completions.create", "responses.create"],
  ["call claude with the messages api", "messages.create"],
  ["anthropic messages", "messages.create"],
  ["gemini generateContent", "models.generate_content"],
  ["ask a google gemini model to write text", "models.generate_content"],
  ["stream gemini output", "models.stream_generate_content"],
  ["token by token generation in the google format", "models.stream_generate_content"],
  ["openai responses api with tools", "responses.create"],
  ["responses create endpoint", "responses.create"],
  ["list available models and prices", "models.list"],
  ["which LLMs can I use here", "models.list"],
  ["price of one specific model", "models.get", "models.list"],
  ["look up model gpt-4o details", "models.get"],
  ["how much have I spent this week", "usage.get"],
  ["daily usage report of tokens and cost", "usage.get"],
  ["my rate limits", "limits.get"],
  ["how many requests per minute am I allowed and what remains", "limits.get"],
  ["receipt for a request id", "requests.get"],
  ["why was I charged for this call", "requests.get"],
  ["history of my recent calls", "requests.list"],
  ["list past requests with their cost", "requests.list"],
  ["request a higher quota", "limits.requests.create"],
  ["apply for more throughput", "limits.requests.create"],
  ["count tokens of a prompt before sending it to claude", "messages.count_tokens"],
  ["how long is my message in tokens anthropic", "messages.count_tokens"],
  ["countTokens gemini", "models.count_tokens"],
  ["estimate prompt size for a gemini model", "models.count_tokens"],
  ["list gemini models", "models.list_gemini"],
  ["models available in v1beta", "models.list_gemini"],
  ["order documents by similarity to a query", "rerank.create"],
  ["cross-encoder reranker for RAG", "rerank.create"],
  ["stock valuation ratios revenue growth margins", "financial.metrics.snapshot"],
  ["return on equity and debt to equity for a public company", "financial.metrics.snapshot"],
  ["answer a question using up to date information from the internet", "research.deep_search"],
  ["investigate a subject and write a cited report", "research.deep_search"],
  ["summarize this text with an llm", ...conversations],
  ["translate a paragraph into French", ...conversations],
  // The operations below are not in every catalogue; a question counts where its answer is on offer.
  ["create a video from a text prompt", "video.synthesis.create"],
  ["text to video generation", "video.synthesis.create"],
  ["check the status of my video task", "tasks.get"],
  ["poll an async task until it is finished", "tasks.get"],
  ["cancel a running video generation", "tasks.cancel"],
  ["stop a task I started by mistake", "tasks.cancel"],
  ["connect my twitter account", "social_a.link.start"],
  ["authorize access to a user's social account with oauth", "social_a.link.start"],
  ["follow a user on twitter", "social_a.follow"],
  ["start following someone", "social_a.follow"],
  ["latest news about Tesla", "research.deep_search"],
  ["summarise an article", ...conversations],
  ["classify sentiment", ...conversations],
  ["fix my code", ...conversations],
  ["analysing customer feedback with gpt", ...conversations],
  ["dividend yield", "financial.metrics.snapshot"],
  ["paint a sunset", "images.generate"],
  ["photo of a dog", "images.generate"],
  ["chatgpt", "chat.completions.create", "responses.create"],
  ["o3", "chat.completions.create", "responses.create"],
  ["wan2.6-t2v", "video.synthesis.create"],
  ["video status", "tasks.get"],
  ["is my video ready", "tasks.get"],
  ["abort video", "tasks.cancel"],
  ["how many tokens is this text", "messages.count_tokens", "models.count_tokens"],
  ["what models do you have", "models.list"],
  ["log in to twitter", "social_a.link.start"],
];

const asQuestion = ([asked, ...wanted]: readonly [string, ...string[]]): SearchQuestion => ({
  asked,
  wanted,
});

/** For tuning. */
export const openQuestions: readonly SearchQuestion[] = questions
  .filter((_, n) => n % 2 === 0)
  .map(asQuestion);

/** For measuring, and for nothing else. */
export const heldOutQuestions: readonly SearchQuestion[] = questions
  .filter((_, n) => n % 2 === 1)
  .map(asQuestion);
