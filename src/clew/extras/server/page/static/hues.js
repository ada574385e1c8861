// The colours of groups, as the style names them: of themes on their map, and of entities.

export const HUES = 12;

/** The name of the colour of a group by its place; all behind the last, and those without, are grey. */
export const hue = (place) => (place >= 0 && place < HUES ? `--hue-${place}` : "--hue-none");
