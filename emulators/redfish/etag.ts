import { createHash } from 'node:crypto';
import type { Call, Resource } from './core.ts';
import { refusal } from './messages.ts';

/** Of the resource as it is, without what faults make of it, in the strong form. */
function tagOf({ GET: view }: Resource, call: Call): string {
  const text = JSON.stringify(view?.({ ...call, strike: () => undefined }));
  return `"${createHash('sha256').update(text).digest('hex').slice(0, 8)}"`;
}

export function entityTagOf(resource: Resource, call: Call): string {
  const tag = tagOf(resource, call);
  return call.strike('etag', ({ does }) => does === 'weak') ? `W/${tag}` : tag;
}

/** Weak tags match nothing (RFC 9110, 13.1.1). @throws {RedfishError} 412. */
export function requireMatch(resource: Resource, call: Call, wanted: string | undefined): void {
  if (wanted === undefined) return;
  const isRefused = call.strike('etag', ({ does }) => does === 'refused');
  const tags = wanted.split(',').map((one) => one.trim());
  const tag = tagOf(resource, call);
  const fits = tags.some((one) => one === '*' || one === tag);
  if (isRefused || !fits) throw refusal(412, 'PreconditionFailed');
}
