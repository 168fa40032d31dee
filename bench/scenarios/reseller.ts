import type { Scenario } from "../rig/scenario.ts";

const data = {
  videos: Array.from({ length: 10 }, (_, at) => ({
    id: `75000000000000000${at}`,
    desc: "a gate",
    play_count: 1000 + at,
  })),
};

/** A GET for data whose body says by its own code whether it is paid for. */
export const reseller: Scenario = {
  request: {
    method: "GET",
    path: "/apis/v1/reseller/social_c/app/v3/fetch_creator_search_insights_videos?keyword=gates",
    headers: {},
    body: undefined,
  },
  answer: {
    contentType: "application/json",
    body: JSON.stringify({ code: 200, message: "Request successful.", data }),
  },
  told: { code: 200, data },
};
