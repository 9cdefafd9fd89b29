import type { Log } from '../log/port.ts';

/** The same log, each of whose lines names the provider. */
export function providerLog(log: Log, provider: string): Log {
  const say =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (fields: object, message: string): void =>
      log[level]({ provider, ...fields }, message);
  return {
    ...{ debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') },
    child: (fields) => providerLog(log.child(fields), provider),
  };
}
