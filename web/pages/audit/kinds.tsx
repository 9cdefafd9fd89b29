import type { ComponentType } from 'react';
import { texts } from '../../texts.ts';
import { LoginTrail, TokenTrail } from './access-trails.tsx';
import { EventTrail } from './event-trail.tsx';
import { RequestTrail } from './request-trail.tsx';
import type { TrailProps } from './search.ts';

/** The kinds of entries. The first kind is the default. */
export const KINDS: readonly {
  readonly name: string;
  readonly label: string;
  readonly Trail: ComponentType<TrailProps>;
}[] = [
  { name: 'requests', label: texts.audit.kind.requests, Trail: RequestTrail },
  { name: 'events', label: texts.audit.kind.events, Trail: EventTrail },
  { name: 'logins', label: texts.audit.kind.logins, Trail: LoginTrail },
  { name: 'tokens', label: texts.audit.kind.tokens, Trail: TokenTrail },
];
