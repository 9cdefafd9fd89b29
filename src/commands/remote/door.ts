/** What is asked of the console's API. */
export interface Question {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `/api/v1` before it. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal: AbortSignal;
}
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

/** A message of the console's stream. */
export interface StreamMessage {
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

/** How commands reach the fleet: the console, or in an emergency the database. */
export interface Door {
  readonly kind: 'console' | 'database';
  /** For people: the console's address, or the configuration of the database. */
  readonly where: string;
  /**
   * Answers whatever the status.
   * @throws {NoConsole} nothing answers there. @throws {Unreachable} the database does not.
   */
  send(question: Question): Promise<Reply>;
  /**
   * Reads server-sent events until they end; a break is an end as well. Absent: there are none.
   * @throws {NoConsole} {Refused}
   */
  stream?(question: Question): AsyncIterable<StreamMessage>;
  /** The same person at the console of another daemon. Absent: nobody knows them there. */
  elsewhere?(url: string): Door;
  close(): Promise<void>;
}
