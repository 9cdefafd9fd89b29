import type { WebhookBook } from '../adapters/bmdb/port.ts';

/** What the console knows of webhooks. */
export interface WebhooksView {
  readonly book: WebhookBook;
  /** Those of the configuration. Types: null: all. */
  readonly configured: readonly {
    readonly name: string;
    readonly host: string;
    readonly types: readonly string[] | null;
  }[];
}
