import type { ReactNode } from 'react';
import { texts } from '../texts.ts';
import { Notice } from './panel.tsx';

export interface LoadedProps<Data> {
  readonly query: {
    readonly data: Data | undefined;
    readonly error: Error | null;
    readonly refetch: () => unknown;
  };
  readonly children: (data: Data) => ReactNode;
}

/** Shows that a resource is loading, that it failed, or its data. */
export function Loaded<Data>({ query: { data, error, refetch }, children }: LoadedProps<Data>) {
  if (data === undefined && error === null) return <p className="waiting">{texts.link.waiting}</p>;
  return (
    <>
      {error !== null && (
        <Notice tone="bad" title={texts.failed}>
          <p role="alert">{error.message}</p>
          <button type="button" onClick={() => void refetch()}>
            {texts.again}
          </button>
        </Notice>
      )}
      {data !== undefined && children(data)}
    </>
  );
}
