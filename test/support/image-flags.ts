/** What the image and the chart tell Node.js about its heap, where that is measured; without the share of a container's memory. */
export const imageFlags = '--max-semi-space-size=16';
