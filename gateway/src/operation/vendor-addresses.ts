import type { Upstream } from "./upstream.ts";

/** Many vendors speak OpenAI's dialect; this one is OpenAI, or Azure in its place. */
export const isOpenAiItself = ({ url }: Pick<Upstream, "url">): boolean => openAi.test(url);

// At the wider addresses of Azure's many vendors' models stand side by side; OpenAI's are below its name.
const openAi =
  /^https:\/\/([\w-]+\.)?((api\.openai\.com|openai\.azure\.(com|us))(?=[:/]|$)|(services\.ai|cognitiveservices)\.azure\.(com|us)(:\d+)?\/openai(?=\/|$))/i;

/** Groq, Cerebras and Mistral, who like OpenAI refuse a message with a member that they do not know. */
export const refusesUnknownMembers = ({ url }: Pick<Upstream, "url">): boolean =>
  strict.test(url) || mistral.test(url);

const strict = /^https:\/\/api\.(groq\.com|cerebras\.ai)(?=[:/]|$)/i;

/** It alone refuses to be told which of a caller's own users asks. */
export const isMistral = ({ url }: Pick<Upstream, "url">): boolean => mistral.test(url);

const mistral = /^https:\/\/(api|codestral)\.mistral\.ai(?=[:/]|$)/i;

/** Azure has them at some of its addresses only. */
export const knowsResponses = ({ url }: Pick<Upstream, "url">): boolean => openAisOwn.test(url);

const openAisOwn = /^https:\/\/([\w-]+\.)?api\.openai\.com(?=[:/]|$)/i;

/** Mistral and Google, who answer OpenAI's chat completions and not its Responses. */
export const knowsNoResponses = ({ url }: Pick<Upstream, "url">): boolean =>
  mistral.test(url) || google.test(url);

const google = /^https:\/\/generativelanguage\.googleapis\.com(?=[:/]|$)/i;

/** Alibaba's Model Studio, which serves many vendors' models and counts what they think in its own way. */
export const isModelStudio = ({ url }: Pick<Upstream, "url">): boolean => modelStudio.test(url);

const modelStudio = /^https:\/\/([\w-]+\.)+aliyuncs\.com(?=[:/]|$)/i;
