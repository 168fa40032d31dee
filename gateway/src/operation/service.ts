import type { CallersDialect } from "../platform/dialect.ts";

/** How one vendor protocol serves an operation: the exchange its adapter must know, and the vendor's path. */
export interface Service {
  readonly exchange: ExchangeName;
  /** `{user_id}` stands for the linked account, where the operation acts for one. */
  readonly path: string;
  /** The dialect in which the caller speaks, for exchanges that know several. */
  readonly dialect?: CallersDialect;
  /**
   * Where the vendor is asked about the tasks that this exchange creates. The exchanges `task_poll` and `task_cancel`
   * get it as their path, and the vendor's own id of the task as the input's parameter `task_id`.
   */
  readonly tasksPath?: string;
}

export type ExchangeName =
  | "forward_query"
  | "forward_body"
  | "rerank"
  | "chat"
  | "responses"
  | "embeddings"
  | "images"
  | "count_tokens"
  | "research"
  | "video_create"
  | "task_poll"
  | "task_cancel";
