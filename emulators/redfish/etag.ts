import { createHash } from 'node:crypto';
import type { Call, Core, Resource } from './core.ts';
import { refusal } from './messages.ts';

/** Of the resource as it is, without what faults make of it, in the strong form. */
function tagOf({ GET: view }: Resource, core: Core, call: Call): string {
  const text = JSON.stringify(view?.(core, { ...call, strike: () => undefined }));
  return `"${createHash('sha256').update(text).digest('hex').slice(0, 8)}"`;
}

export function entityTagOf(resource: Resource, core: Core, call: Call): string {
  const tag = tagOf(resource, core, call);
  return call.strike('etag', ({ does }) => does === 'weak') ? `W/${tag}` : tag;
}

/** Weak tags match nothing (RFC 9110, 13.1.1). @throws {RedfishError} 412. */
export function requireMatch(resource: Resource, core: Core, call: Call, wanted: string): void {
  const isRefused = call.strike('etag', ({ does }) => does === 'refused');
  if (isRefused || wanted !== tagOf(resource, core, call)) throw refusal(412, 'PreconditionFailed');
}
