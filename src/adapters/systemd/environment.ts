/** What systemd says to a service by its environment; see sd_notify(3), sd_watchdog_enabled(3), sd_listen_fds(3). */
export interface SystemdEnvironment {
  /** Address of the datagram socket that takes notifications; null: nobody listens. */
  readonly notifySocket: string | null;
  readonly watchdogMs: number | null;
  readonly sockets: ReadonlyMap<string, number>;
}

/** The first descriptor that is passed on. */
const LISTEN_FDS_START = 3;

type Environment = Record<string, string | undefined>;

/**
 * Reads what was said to this process, and takes it out of the environment: what we start, such as a
 * PostgreSQL of our own, would else speak to systemd in our name.
 */
export function takeSystemdEnvironment(env: Environment, pid: number): SystemdEnvironment {
  const take = (name: string) => {
    const value = env[name];
    delete env[name];
    return value ?? '';
  };
  /** Said to another process if a pid stands beside it that is not ours. */
  const isOurs = (told: string, isNeeded: boolean) => (told === '' ? !isNeeded : told === `${pid}`);
  const [notifySocket, watchdogUs, watchdogPid] = [
    take('NOTIFY_SOCKET'),
    take('WATCHDOG_USEC'),
    take('WATCHDOG_PID'),
  ];
  const [count, names, listenPid] = [
    take('LISTEN_FDS'),
    take('LISTEN_FDNAMES'),
    take('LISTEN_PID'),
  ];
  const watches = isOurs(watchdogPid, false) && /^[1-9]\d*$/.test(watchdogUs);
  return {
    notifySocket: notifySocket === '' ? null : notifySocket,
    watchdogMs: watches ? Number(watchdogUs) / 1000 : null,
    sockets: isOurs(listenPid, true) ? socketsOf(Number(count), names.split(':')) : new Map(),
  };
}

/** Of several with one name the first counts. */
function socketsOf(count: number, names: readonly string[]): ReadonlyMap<string, number> {
  const sockets = new Map<string, number>();
  for (let at = 0; at < count; at += 1) {
    const name = names[at] || 'unknown';
    if (!sockets.has(name)) sockets.set(name, LISTEN_FDS_START + at);
  }
  return sockets;
}
