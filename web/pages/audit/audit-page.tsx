import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { texts } from '../../texts.ts';
import { KINDS } from './kinds.tsx';
import type { AuditSearch } from './search.ts';

const route = getRouteApi('/audit');

/** The page of the audit: requests, events, logins and tokens. */
export function AuditPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const chosen = KINDS.find(({ name }) => name === search.kind) ?? KINDS[0]!;
  const change = (part: AuditSearch) =>
    void navigate({ to: '/audit', search: { ...search, ...part }, replace: true });
  return (
    <>
      <h1>{texts.pages.audit}</h1>
      <nav className="kinds" aria-label={texts.audit.kinds}>
        {KINDS.map(({ name, label }) => (
          <Link
            key={name}
            to="/audit"
            search={name === KINDS[0]!.name ? {} : { kind: name }}
            aria-current={name === chosen.name ? 'true' : undefined}
          >
            {label}
          </Link>
        ))}
      </nav>
      <chosen.Trail search={search} change={change} />
    </>
  );
}
