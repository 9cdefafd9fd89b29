import { get, type Agent } from 'node:http';

/** Longer than any balancer makes a client wait that finds a server in the end. */
const PATIENCE_MS = 10_000;

export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * One request, on a connection of its own unless there is an agent.
 * @returns null: it was answered, whole and with 200; else why not.
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

/** Short, and the same for the same reason. */
const reasonOf = (error: Error & { readonly code?: string }): string => error.code ?? error.message;
