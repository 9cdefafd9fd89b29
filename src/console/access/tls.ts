import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { createSecureContext, Server } from 'node:tls';
import type { Log } from '../../adapters/log/port.ts';
import { explain, UsageError } from '../../domain/errors.ts';

/** The console's certificate and key, as PEM. */
export interface TlsFiles {
  readonly certificate: Buffer;
  readonly key: Buffer;
  /** Authority of client certificates; absent: none is requested. */
  readonly clientCa?: Buffer;
}

/** @throws {UsageError} a file cannot be read. */
export function readTlsFiles(paths: {
  readonly certificatePath: string;
  readonly keyPath: string;
  readonly clientCaPath?: string | undefined;
}): TlsFiles {
  const read = (path: string): Buffer => {
    try {
      return readFileSync(path);
    } catch (cause) {
      throw new UsageError(`console.tls: ${path} cannot be read; make the file readable`, {
        cause,
      });
    }
  };
  const { certificatePath, keyPath, clientCaPath } = paths;
  return {
    certificate: read(certificatePath),
    key: read(keyPath),
    ...(clientCaPath !== undefined && { clientCa: read(clientCaPath) }),
  };
}

/** Reads the files again at each call. @throws {UsageError} */
export type ReadTls = () => TlsFiles;

/**
 * Options of the server. A client without a trusted certificate may connect all the same: its other
 * credentials decide what it may do.
 * @throws {UsageError} the files do not match.
 */
export function tlsOptions(read: ReadTls) {
  const context = contextOf(read());
  createChecked(context);
  return { ...context, requestCert: context.ca !== undefined, rejectUnauthorized: false };
}

const contextOf = ({ certificate, key, clientCa }: TlsFiles) => ({
  cert: certificate,
  key,
  ...(clientCa && { ca: clientCa }),
  minVersion: 'TLSv1.2' as const,
});

function createChecked(context: ReturnType<typeof contextOf>): void {
  try {
    createSecureContext(context);
  } catch (cause) {
    const remedy = 'give a certificate and its private key, both as PEM';
    throw new UsageError(`console.tls: the certificate and the key do not match; ${remedy}`, {
      cause,
    });
  }
}

/** End of the certificate's validity, epoch ms. */
export const notAfterMs = ({ certificate }: TlsFiles): number =>
  new X509Certificate(certificate).validToDate.getTime();

/**
 * Uses the new files; keeps the previous ones if the new ones are unusable.
 * @returns the files in use from now on; null: the previous ones.
 */
export function renewTls({ server }: FastifyInstance, read: ReadTls, log: Log): TlsFiles | null {
  if (!(server instanceof Server)) return null;
  try {
    const files = read();
    const context = contextOf(files);
    createChecked(context);
    server.setSecureContext(context);
    log.info({}, 'the certificate of the console was reloaded');
    return files;
  } catch (error) {
    log.error({ cause: explain(error) }, 'the certificate of the console could not be reloaded');
    return null;
  }
}
