import { useEffect, useRef, useState } from 'react';

/** How often those who listen are told: not more often than one can follow. */
const SPOKEN_EVERY_MS = 5_000;

/** Told to those who cannot see it: what it is now, at most once in five seconds. */
export const Spoken = ({ text }: { readonly text: string }) => (
  <p className="spoken" role="status">
    {useSlowly(text)}
  </p>
);

/** The latest text, as it was when the time to tell it came last. */
function useSlowly(text: string): string {
  const [spoken, speak] = useState(text);
  const latest = useRef(text);
  latest.current = text;
  useEffect(() => {
    if (text === spoken) return undefined;
    const timer = setTimeout(() => speak(latest.current), SPOKEN_EVERY_MS);
    return () => clearTimeout(timer);
  }, [text === spoken]);
  return spoken;
}
