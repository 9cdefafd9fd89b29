import type { HeartbeatOutcome, HeartbeatRecord } from '../../domain/heartbeat.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { Log } from '../log/port.ts';
import type { HeartbeatEnd } from '../metrics/port.ts';
import type { AgentFrontOptions } from './http2-agent-server.ts';
import type { ServerKeys } from './port.ts';

/** What the thread is started with. */
export type ThreadStart = Pick<
  AgentFrontOptions,
  'listen' | 'tls' | 'heartbeatIntervalSeconds' | 'batch' | 'limits'
> & {
  /** Whether its store can tell whose hardware report is missing. */
  readonly knowsHardware: boolean;
};

/** From the daemon to the thread. */
export type ToThread =
  /** In the order of the batch. An error is told by its words: agents learn none of it. */
  | { readonly kind: 'recorded'; readonly id: number; readonly outcomes: readonly ToldOutcome[] }
  | { readonly kind: 'missing'; readonly id: number; readonly machines: readonly MachineId[] }
  | { readonly kind: 'failed'; readonly id: number; readonly cause: string }
  | { readonly kind: 'present'; readonly tls: ServerKeys }
  | { readonly kind: 'close'; readonly graceMs: number };

export type ToldOutcome =
  | HeartbeatOutcome
  | { readonly kind: 'unavailable'; readonly cause: string };

/** From the thread to the daemon. */
export type FromThread =
  | { readonly kind: 'listening'; readonly address: string }
  /** It cannot start, or not use what it was given; the words of a mistake of the configuration. */
  | { readonly kind: 'unusable'; readonly message: string; readonly cause: string }
  | { readonly kind: 'record'; readonly id: number; readonly batch: readonly HeartbeatRecord[] }
  | { readonly kind: 'withoutHardware'; readonly id: number }
  | {
      readonly kind: 'log';
      readonly level: Exclude<keyof Log, 'child'>;
      readonly fields: object;
      readonly message: string;
    }
  /** How the calls since the last message ended, and how long each took, seconds. */
  | {
      readonly kind: 'calls';
      readonly calls: readonly (readonly [HeartbeatEnd, seconds: number])[];
    }
  | { readonly kind: 'closed' };
