// Where the gateway is and who is calling: from the environment, as everywhere.

const { TOLLGATE_KEY: apiKey, TOLLGATE_BASE_URL: baseUrl = "http://127.0.0.1:8787" } = process.env;
if (!apiKey) throw new Error("Put your key into the environment as TOLLGATE_KEY.");

export const settings = { apiKey, baseUrl };
