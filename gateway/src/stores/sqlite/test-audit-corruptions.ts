import { corruptions as everywhere, type Corruption } from "../test-audit-corruptions.ts";
import { rerank } from "../test-audited-books.ts";

export const corruptions: readonly Corruption[] = [
  ...everywhere,
  {
    name: "a call ended in the journal and not in its row",
    sql: [`INSERT INTO journal (lines) VALUES ('[["end","open","0","0"]]')`],
    subject: "journal",
  },
  {
    name: "a journal that cannot be read",
    sql: ["INSERT INTO journal (lines) VALUES ('[[')"],
    subject: "journal",
  },
  {
    name: "a call held in the journal for an account that cannot pay it",
    sql: [
      `INSERT INTO journal (lines) VALUES ('[["held","poor","acc_empty","key_a","rerank.create","ranker","5","${rerank.version}","1000000",null,null,"1",0]]')`,
    ],
    subject: "journal",
  },
  {
    name: "a settled call deleted that its account's list still names",
    sql: ["DELETE FROM call WHERE id = 'chat_1'"],
    subject: "chat_1",
  },
  {
    name: "a call missing from its account's list",
    sql: [
      "INSERT INTO account_call SELECT account_id, call_id FROM listed_call WHERE call_id <> 'chat_1'",
      "DELETE FROM unlisted",
    ],
    subject: "chat_1",
  },
  {
    name: "a call missing from what waits to be listed",
    sql: [`UPDATE unlisted SET lists = replace(replace(lists, '"chat_1",', ''), ',"chat_1"', '')`],
    subject: "chat_1",
  },
  {
    name: "a call in the list of another account",
    sql: ["INSERT INTO account_call VALUES ('acc_b', 'chat_1')"],
    subject: "chat_1",
  },
  {
    name: "a call taken out of its budget",
    sql: ["UPDATE call SET budget_window_start_ms = NULL WHERE id = 'snap_2'"],
    subject: "key_day",
  },
];
