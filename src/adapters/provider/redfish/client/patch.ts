import type { Wire } from './bmc.ts';
import { refusalIn } from './errors.ts';
import type { Json, Reply } from './replies.ts';

/** A resource that is to be changed, as it was read. */
export interface Patched {
  readonly path: string;
  readonly etag: string | null;
}

/**
 * Changes a resource. An ETag is sent as it was told; where it is refused although it was read just
 * now, it is sent once as a strong one, if it was weak, and then not at all.
 * @throws {ProviderError}
 */
export async function patch(wire: Wire, { path, etag }: Patched, body: Json): Promise<Reply> {
  const [last, ...earlier] = attemptsWith(etag).toReversed();
  const withMatch = (match: string | null | undefined) =>
    wire.send('PATCH', path, body, match ? { 'If-Match': match } : {});
  for (const match of earlier.toReversed()) {
    try {
      return await withMatch(match);
    } catch (error) {
      if (refusalIn(error)?.status !== 412) throw error;
    }
  }
  return withMatch(last);
}

function attemptsWith(etag: string | null): readonly (string | null)[] {
  if (etag === null) return [null];
  return etag.startsWith('W/') ? [etag, etag.slice('W/'.length), null] : [etag, null];
}
