import type { Log } from '../log/port.ts';

/** The log with the provider's name in each line. */
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
