import type { DeliveryAnswer } from '../../domain/events/retries.ts';

/** The way to one receiver. */
export interface WebhookSender {
  /**
   * Sends an event, signed, and waits for the answer, at most `DELIVERY_LIMIT_MS`. What goes wrong is
   * an answer, too.
   * @throws whatever the signal was aborted with.
   */
  send(delivery: Delivery, signal: AbortSignal): Promise<DeliveryAnswer>;
  close(): void;
}

export interface Delivery {
  /** The same each time the event is sent. */
  readonly id: string;
  /** A CloudEvent as JSON. */
  readonly body: string;
}
