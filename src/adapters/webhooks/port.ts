import type { DeliveryAnswer } from '../../domain/events/retries.ts';

/** The connection to one receiver. */
export interface WebhookSender {
  /**
   * Sends a signed event, and waits for the answer, at most `DELIVERY_LIMIT_MS`. Errors are
   * answers, too.
   * @throws the signal's reason.
   */
  send(delivery: Delivery, signal: AbortSignal): Promise<DeliveryAnswer>;
  close(): void;
}

export interface Delivery {
  /** The same for each attempt. */
  readonly id: string;
  /** A CloudEvent as JSON. */
  readonly body: string;
}
