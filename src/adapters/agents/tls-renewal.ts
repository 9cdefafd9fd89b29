import { X509Certificate } from 'node:crypto';
import { explain } from '../../domain/errors.ts';
import { sleep, type Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type { ServerKeys } from './port.ts';

/** What the listener presents, and the authority that new agents trust (DER). */
export interface ServedTls extends ServerKeys {
  readonly caDer: Uint8Array;
}

export interface TlsRenewalOptions {
  /** Reads key, certificate and authority from their source. */
  readonly read: () => Promise<ServedTls>;
  /** Initially served material. */
  readonly served: ServedTls;
  /** @throws {UsageError} the keys cannot be used. */
  readonly present: (keys: ServerKeys) => void;
  /** Interval of checks for a replacement. */
  readonly checkMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Serves a replaced certificate without a restart. */
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
      log.info(describe(found), 'agent server: the certificate was replaced');
    } catch (error) {
      // Key and certificate are two files: between the replacement of one and the other they do not
      // match.
      const cause = explain(error);
      if (cause === complaint) return;
      complaint = cause;
      log.error({ cause }, 'agent server: the new certificate is unusable; the old one stays');
    }
  };
  const watch = async () => {
    for (;;) {
      await sleep(clock, checkMs, stopping.signal);
      await renew();
    }
  };
  // Ends only by `stop`.
  watch().catch(() => undefined);
  return {
    /** Currently served material. */
    get served(): ServedTls {
      return served;
    },
    /** Checks now. Never fails: unusable material is logged, and the old one stays. */
    renew,
    /** Stops checking. */
    stop: (): void => stopping.abort(),
  };
}

const isSame = (one: ServedTls, other: ServedTls): boolean =>
  one.key === other.key && one.cert === other.cert && Buffer.compare(one.caDer, other.caDer) === 0;

function describe({ cert }: ServedTls) {
  const { fingerprint256, validTo } = new X509Certificate(cert);
  return { fingerprint: fingerprint256, validTo };
}
