import { ask, type Haproxy } from './haproxy-process.ts';

/** A server as HAProxy itself shows it. */
export interface ServerStatus {
  readonly backend: string;
  readonly server: string;
  /** Such as `UP`, `UP 1/3`, `DOWN`, `DRAIN`, `MAINT`, `no check`. */
  readonly status: string;
  /** Share of the new connections; with 0 it gets none. */
  readonly weight: number;
  /** Connections that go there now. */
  readonly sessions: number;
}

/** Whether new connections may go there. */
export const isActive = ({ status, weight }: ServerStatus): boolean =>
  weight > 0 && /^(UP|no check)/.test(status);

/** What the worker that takes new connections says of itself. Empty: HAProxy does not answer. */
export async function readServers({
  masterSocket,
}: Pick<Haproxy, 'masterSocket'>): Promise<ServerStatus[]> {
  const [head = '', ...lines] = (await ask(masterSocket, '@1 show stat')).trim().split('\n');
  const names = head.replace(/^# /, '').split(',');
  const at = (name: string) => names.indexOf(name);
  const [backend, server] = [at('pxname'), at('svname')];
  const [sessions, status, weight] = [at('scur'), at('status'), at('weight')];
  // Only texts of later columns may hold commas.
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
