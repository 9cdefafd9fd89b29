import { createHash } from 'node:crypto';
import type { RedfishCall, Rack, Resource } from './core.ts';
import { refusal } from './messages.ts';

/** Strong ETag of the resource itself, without the effects of faults. */
function tagOf({ GET: view }: Resource, rack: Rack, call: RedfishCall): string {
  const text = JSON.stringify(view?.(rack, { ...call, strike: () => undefined }));
  return `"${createHash('sha256').update(text).digest('hex').slice(0, 8)}"`;
}

export function entityTagOf(resource: Resource, rack: Rack, call: RedfishCall): string {
  const tag = tagOf(resource, rack, call);
  return call.strike('etag', ({ does }) => does === 'weak') ? `W/${tag}` : tag;
}

/** Weak tags match nothing (RFC 9110, 13.1.1). @throws {ApiRefusal} 412. */
export function requireMatch(resource: Resource, rack: Rack, call: RedfishCall): void {
  const wanted = call.headers['if-match'];
  if (wanted === undefined) return;
  const isRefused = call.strike('etag', ({ does }) => does === 'refused');
  if (isRefused || wanted !== tagOf(resource, rack, call)) throw refusal(412, 'PreconditionFailed');
}
