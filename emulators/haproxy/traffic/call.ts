import { get, type Agent } from 'node:http';

/** Longer than any balancer delays a client that finds a server in the end. */
const PATIENCE_MS = 10_000;

export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Sends one request, on its own connection unless there is an agent.
 * @returns null: a whole answer with status 200; otherwise the reason.
 */
export function callOnce({ host, port }: Address, agent: Agent | false = false) {
  return new Promise<string | null>((resolve) => {
    const request = get({ host, port, agent, timeout: PATIENCE_MS }, (response) => {
      response.on('error', (error) => resolve(reasonOf(error)));
      response.on('end', () => {
        const whole = response.complete && response.statusCode === 200;
        resolve(whole ? null : `answered with ${response.statusCode}`);
      });
      response.resume();
    });
    request.on('timeout', () => request.destroy(new Error('not answered in time')));
    request.on('error', (error) => resolve(reasonOf(error)));
  });
}

/** A short reason, equal for equal causes. */
const reasonOf = (error: Error & { readonly code?: string }): string => error.code ?? error.message;
