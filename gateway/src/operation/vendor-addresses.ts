import type { Upstream } from "./upstream.ts";

/** Many vendors speak OpenAI's dialect; this one is OpenAI, or Azure in its place. */
export const isOpenAiItself = ({ url }: Pick<Upstream, "url">): boolean => openAi.test(url);

// At the wider addresses of Azure's many vendors' models stand side by side; OpenAI's are below its name.
const openAi =
  /^https:\/\/([\w-]+\.)?((api\.openai\.com|openai\.azure\.(com|us))(?=[:/]|$)|(services\.ai|cognitiveservices)\.azure\.(com|us)(:\d+)?\/openai(?=\/|$))/i;

/** Alibaba's Model Studio, which serves many vendors' models and counts what they think in its own way. */
export const isModelStudio = ({ url }: Pick<Upstream, "url">): boolean => modelStudio.test(url);

const modelStudio = /^https:\/\/([\w-]+\.)+aliyuncs\.com(?=[:/]|$)/i;
