import { useMutation, useQuery } from '@tanstack/react-query';
import { addressOf, askFor } from '../../api/ask.ts';
import { whoami } from '../../api/resources.ts';
import type { Caller } from '../../api/types.ts';
import { FactList } from '../../parts/facts.tsx';
import { Loaded } from '../../parts/loaded.tsx';
import { Panel } from '../../parts/panel.tsx';
import { texts } from '../../texts.ts';
import { placesOf } from './grant.tsx';

/** The identity and the rights of the reader. */
export function You() {
  const caller = useQuery(whoami);
  return (
    <Panel
      title={texts.access.you}
      aside={caller.data !== undefined && <InOrOut {...caller.data} />}
      className="facts you"
    >
      <Loaded query={caller}>{(person) => <Facts {...person} />}</Loaded>
    </Panel>
  );
}

function Facts({ name, proven, role, rights, providers, via }: Caller) {
  const { labels } = texts.access;
  return (
    <FactList
      facts={[
        [
          labels.name,
          <>
            <span className="mono">{name}</span>{' '}
            {!proven && via !== 'none' && <span className="chip">{texts.audit.claim}</span>}
          </>,
        ],
        [labels.role, role],
        [labels.rights, rights.map((right) => texts.access.rights[right]).join('; ')],
        [labels.where, placesOf(providers)],
        [labels.via, texts.access.via[via]],
      ]}
    />
  );
}

/** Ends the login of this browser, or leads to the login. */
function InOrOut({ via }: Caller) {
  const leaving = useMutation({
    mutationFn: () => askFor(addressOf(['logout']), { method: 'POST' }),
    onSuccess: () => location.assign('/login'),
  });
  if (via === 'none') return <a href="/login">{texts.pages.login}</a>;
  if (via !== 'cookie') return null;
  return (
    <span>
      {leaving.error !== null && <span role="alert">{leaving.error.message} </span>}
      <button type="button" disabled={leaving.isPending} onClick={() => leaving.mutate()}>
        {texts.access.logOut}
      </button>
    </span>
  );
}
