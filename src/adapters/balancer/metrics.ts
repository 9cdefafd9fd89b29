/** What drivers count of their own calls. */
export interface BalancerMetrics {
  /** A request was answered. @param status of HTTP, or `-1` when there was no answer. */
  request(call: {
    readonly balancer: string;
    readonly resource: string;
    readonly method: string;
    readonly status: string;
  }): void;
  /** Requests that wait for their answer: one more (`1`) or one less (`-1`). */
  inFlight(
    call: { readonly balancer: string; readonly resource: string; readonly method: string },
    by: 1 | -1,
  ): void;
}
