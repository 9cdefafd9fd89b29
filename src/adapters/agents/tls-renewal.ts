import { X509Certificate } from 'node:crypto';
import { explain } from '../../domain/errors.ts';
import { sleep, type Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type { ServerKeys } from './port.ts';

/** What the listener presents, and the authority that new agents are told to trust (DER). */
export interface ServedTls extends ServerKeys {
  readonly caDer: Uint8Array;
}

export interface TlsRenewalOptions {
  /** Where it is kept. */
  readonly read: () => Promise<ServedTls>;
  /** What is served so far. */
  readonly served: ServedTls;
  /** @throws {UsageError} it cannot be used. */
  readonly present: (keys: ServerKeys) => void;
  /** How often it is looked whether it is another. */
  readonly checkMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Serves a certificate that was replaced where it is kept, without a restart. */
export function startTlsRenewal(options: TlsRenewalOptions) {
  const { read, present, checkMs, clock, log } = options;
  const stopping = new AbortController();
  let { served } = options;
  let complaint: string | null = null;

  const renew = async () => {
    try {
      const found = await read();
      if (stopping.signal.aborted || isSame(found, served)) return;
      present(found);
      served = found;
      complaint = null;
      log.info(describe(found), 'agent server: the certificate was renewed');
    } catch (error) {
      // Key and certificate are two files: between their changes they do not fit.
      const cause = explain(error);
      if (cause === complaint) return;
      complaint = cause;
      log.error({ cause }, 'agent server: the certificate cannot be renewed; the old one stays');
    }
  };
  const watch = async () => {
    for (;;) {
      await sleep(clock, checkMs, stopping.signal);
      await renew();
    }
  };
  // It ends in no other way than by `stop`.
  watch().catch(() => undefined);
  return {
    /** What is served now. */
    get served(): ServedTls {
      return served;
    },
    /** Looks now. Never fails: what cannot be read or used is told in the log, the old one stays. */
    renew,
    /** Looks no more. */
    stop: (): void => stopping.abort(),
  };
}

const isSame = (one: ServedTls, other: ServedTls): boolean =>
  one.key === other.key && one.cert === other.cert && Buffer.compare(one.caDer, other.caDer) === 0;

function describe({ cert }: ServedTls) {
  const { fingerprint256, validTo } = new X509Certificate(cert);
  return { fingerprint: fingerprint256, validTo };
}
