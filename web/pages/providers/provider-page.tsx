import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { OnlyLook } from '../../acts/at-large.tsx';
import { provider } from '../../api/resources.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Panel } from '../../parts/panel.tsx';
import { texts } from '../../texts.ts';
import { Calls } from './calls.tsx';
import { Classes } from './classes.tsx';
import { Holds } from './holds.tsx';
import { Marks, ProviderFacts } from './provider-card.tsx';
import { Cooldown } from './cooldown.tsx';
import { Slots } from './slots.tsx';
import { Unsettled } from './unsettled.tsx';

const route = getRouteApi('/providers/$provider');

/** The page of one provider. */
export function ProviderPage() {
  const { provider: name } = route.useParams();
  const query = useQuery(provider(name));
  return (
    <article className="provider-page">
      <h1>{texts.fleet.provider(name)}</h1>
      <Loaded query={query}>
        {({ shelf, unsettled, ...told }) => {
          const counted = { ...told, shelf: shelf.total, unsettled: unsettled.total };
          return (
            <>
              <OnlyLook />
              <div className="halves">
                <div className="column">
                  <Panel title={name} aside={<Marks {...counted} />} className="facts">
                    <ProviderFacts {...counted} />
                  </Panel>
                  <Classes classes={told.classes} />
                </div>
                <div className="column">
                  <Holds provider={name} holds={told.holds} />
                  <Cooldown provider={name} shelf={shelf} />
                  <Unsettled unsettled={unsettled} />
                  <Calls calls={told.calls} />
                </div>
              </div>
              <Slots provider={name} />
            </>
          );
        }}
      </Loaded>
    </article>
  );
}
