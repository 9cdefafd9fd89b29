import { ask, type Haproxy } from './haproxy-process.ts';

/** A server in HAProxy's own view. */
export interface ServerStatus {
  readonly backend: string;
  readonly server: string;
  /** Such as `UP`, `UP 1/3`, `DOWN`, `DRAIN`, `MAINT`, `no check`. */
  readonly status: string;
  /** Share of the new connections; 0: none. */
  readonly weight: number;
  /** Present connections. */
  readonly sessions: number;
}

/** Whether new connections may go to the server. */
export const isActive = ({ status, weight }: ServerStatus): boolean =>
  weight > 0 && /^(UP|no check)/.test(status);

/** The statistics of the worker for new connections. Empty: HAProxy does not answer. */
export async function readServers({
  masterSocket,
}: Pick<Haproxy, 'masterSocket'>): Promise<ServerStatus[]> {
  const [head = '', ...lines] = (await ask(masterSocket, '@1 show stat')).trim().split('\n');
  const names = head.replace(/^# /, '').split(',');
  const at = (name: string) => names.indexOf(name);
  const [backend, server] = [at('pxname'), at('svname')];
  const [sessions, status, weight] = [at('scur'), at('status'), at('weight')];
  // Only later columns may contain commas.
  return lines
    .map((line) => line.split(','))
    .filter((cells) => !['FRONTEND', 'BACKEND'].includes(cells[server]!))
    .map((cells) => ({
      backend: cells[backend]!,
      server: cells[server]!,
      status: cells[status]!,
      weight: Number(cells[weight]),
      sessions: Number(cells[sessions]),
    }));
}
