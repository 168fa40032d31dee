/** Members by which a caller could send the operator's key elsewhere; they never leave this process, in any dialect. */
export const notForUpstreams: readonly string[] = [
  "api_base",
  "api_key",
  "base_url",
  "endpoint",
  "proxy",
  "extra_headers",
  "extra_body",
  "user_api_key",
];
