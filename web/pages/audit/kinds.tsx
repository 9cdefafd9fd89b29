import type { ComponentType } from 'react';
import { texts } from '../../texts.ts';
import { LoginTrail, TokenTrail } from './access-trails.tsx';
import { EventTrail } from './event-trail.tsx';
import { RequestTrail } from './request-trail.tsx';
import type { TrailProps } from './search.ts';

/** Kinds of what is looked at; the first is shown unless another is asked for. */
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
