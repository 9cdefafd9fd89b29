import { explain } from '../../../domain/errors.ts';
import type { Parts } from './deps.ts';
import { serverOfId } from './names.ts';

/** What goes on after its call: one thing for each server, bounded in time. */
export interface Background {
  run(server: number, work: (signal: AbortSignal) => Promise<void>): void;
  /** A later order about the machine comes in its place. */
  end(id: string): void;
  /** Resolves when nothing goes on any more. */
  ended(): Promise<void>;
}

export function createBackground(
  { config, clock, log }: Pick<Parts, 'config' | 'clock' | 'log'>,
  lifetime: AbortSignal,
): Background {
  const running = new Map<
    number,
    { readonly stopping: AbortController; readonly work: Promise<void> }
  >();

  return {
    run(server, work) {
      running.get(server)?.stopping.abort();
      const stopping = new AbortController();
      const timer = clock.setTimeout(() => stopping.abort(), config.installTimeout);
      const signal = AbortSignal.any([lifetime, stopping.signal]);
      const done = work(signal)
        .catch((error: unknown) => {
          const fields = { provider: config.name, server, cause: explain(error) };
          log.warn(fields, 'a reinstallation did not come to its end');
        })
        .finally(() => {
          clock.clearTimeout(timer);
          if (running.get(server)?.stopping === stopping) running.delete(server);
        });
      running.set(server, { stopping, work: done });
    },
    end(id) {
      const server = serverOfId(id);
      if (server !== null) running.get(server)?.stopping.abort();
    },
    async ended() {
      await Promise.allSettled([...running.values()].map(({ work }) => work));
    },
  };
}
